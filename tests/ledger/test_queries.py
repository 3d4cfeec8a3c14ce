"""What a ledger answers without a charge, the same over every store."""


def test_a_stored_answer_is_read_at_no_cost(visits, charge):
    receipt = charge(visits)
    visits.answer(receipt, b"answer")
    before = len(visits.history("visits"))
    assert visits.stored_answer("visits", receipt.question) == b"answer"
    assert (visits.spent("visits").epsilon, len(visits.history("visits"))) == (10**11, before)


def test_every_dataset_is_listed_with_its_newest_version(visits, dataset):
    visits.register(dataset(version=2))
    visits.register(dataset(name="a"))
    assert [(d.name, d.version) for d in visits.datasets()] == [("a", 1), ("visits", 2)]


def test_datasets_are_listed_in_the_order_of_their_characters_in_every_store(ledger, dataset):
    names = ["Z", "a", "b-1", "b1", "ß", "Ä"]
    for name in names:
        ledger.register(dataset(name=name))
    assert [each.name for each in ledger.datasets()] == sorted(names)


def test_a_report_is_made_from_what_the_store_holds(visits, charge):
    visits.answer(charge(visits), b"answer")
    report = visits.report("visits")
    assert report.dataset == "visits"
    assert "ann" in str(visits.report("visits", analyst="ann"))
