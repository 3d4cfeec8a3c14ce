select
    100.00 * sum(least(greatest(promo, 0), 300000)) / sum(least(greatest(revenue, 0), 300000)) as promo_revenue
from (
    select
        o_custkey,
        sum(least(greatest(case
            when p_type like 'PROMO%'
                then l_extendedprice * (1 - l_discount)
            else 0
        end, 0), 104950)) as promo,
        sum(least(greatest(l_extendedprice * (1 - l_discount), 0), 104950)) as revenue
    from
        lineitem,
        part
    where
        l_partkey = p_partkey
        and l_shipdate >= date '1995-09-01'
        and l_shipdate < date '1995-09-01' + interval '1' month
    group by
        o_custkey
) as customers
