"""Features of the Adult census data: the categories of the UCI documentation, and round bounds of numbers.

The documentation has no bounds; these are round numbers that hold the published range of each column.
"""

import discreet as dp

TARGET = "Target"
CLASSES = ["<=50K", ">50K"]
SIZE = 32_561

WORKCLASS = [
    "Private",
    "Self-emp-not-inc",
    "Self-emp-inc",
    "Federal-gov",
    "Local-gov",
    "State-gov",
    "Without-pay",
    "Never-worked",
]
EDUCATION = [
    "Bachelors",
    "Some-college",
    "11th",
    "HS-grad",
    "Prof-school",
    "Assoc-acdm",
    "Assoc-voc",
    "9th",
    "7th-8th",
    "12th",
    "Masters",
    "1st-4th",
    "10th",
    "Doctorate",
    "5th-6th",
    "Preschool",
]
MARITAL = [
    "Married-civ-spouse",
    "Divorced",
    "Never-married",
    "Separated",
    "Widowed",
    "Married-spouse-absent",
    "Married-AF-spouse",
]
OCCUPATION = [
    "Tech-support",
    "Craft-repair",
    "Other-service",
    "Sales",
    "Exec-managerial",
    "Prof-specialty",
    "Handlers-cleaners",
    "Machine-op-inspct",
    "Adm-clerical",
    "Farming-fishing",
    "Transport-moving",
    "Priv-house-serv",
    "Protective-serv",
    "Armed-Forces",
]
RELATIONSHIP = [
    "Wife",
    "Own-child",
    "Husband",
    "Not-in-family",
    "Other-relative",
    "Unmarried",
]
RACE = [
    "White",
    "Asian-Pac-Islander",
    "Amer-Indian-Eskimo",
    "Other",
    "Black",
]
COUNTRY = [
    "United-States",
    "Cambodia",
    "England",
    "Puerto-Rico",
    "Canada",
    "Germany",
    "Outlying-US(Guam-USVI-etc)",
    "India",
    "Japan",
    "Greece",
    "South",
    "China",
    "Cuba",
    "Iran",
    "Honduras",
    "Philippines",
    "Italy",
    "Poland",
    "Jamaica",
    "Vietnam",
    "Mexico",
    "Portugal",
    "Ireland",
    "France",
    "Dominican-Republic",
    "Laos",
    "Ecuador",
    "Taiwan",
    "Haiti",
    "Columbia",
    "Hungary",
    "Guatemala",
    "Nicaragua",
    "Scotland",
    "Thailand",
    "Yugoslavia",
    "El-Salvador",
    "Trinadad&Tobago",
    "Peru",
    "Hong",
    "Holand-Netherlands",
]

FEATURES = {
    "Age": dp.learning.linear_bins(17, 90),
    "Workclass": dp.learning.categories(WORKCLASS),
    "fnlwgt": dp.learning.linear_bins(0, 1_500_000),
    "Education": dp.learning.categories(EDUCATION),
    "Education-Num": dp.learning.linear_bins(1, 17, 16),
    "Marital Status": dp.learning.categories(MARITAL),
    "Occupation": dp.learning.categories(OCCUPATION),
    "Relationship": dp.learning.categories(RELATIONSHIP),
    "Race": dp.learning.categories(RACE),
    "Sex": dp.learning.categories(["Female", "Male"]),
    "Capital Gain": dp.learning.log_bins(0, 100_000),
    "Capital Loss": dp.learning.log_bins(0, 5_000),
    "Hours per week": dp.learning.linear_bins(1, 99),
    "Country": dp.learning.categories(COUNTRY),
}
