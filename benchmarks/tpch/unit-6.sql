select
    sum(least(greatest(revenue, 0), 10000)) as revenue
from (
    select
        o_custkey,
        sum(least(greatest(l_extendedprice * l_discount, 0), 10495)) as revenue
    from
        lineitem
    where
        l_shipdate >= date '1994-01-01'
        and l_shipdate < date '1994-01-01' + interval '1' year
        and l_discount between 0.06 - 0.01 and 0.06 + 0.01
        and l_quantity < 24
    group by
        o_custkey
) as customers
