-- any: any :- parent(_, _).

-- duckdb
SELECT DISTINCT
  TRUE AS "present"
FROM "memory"."sqlrl"."fact_parent" AS "t0";

-- spark
SELECT DISTINCT
  TRUE AS `present`
FROM `memory`.`sqlrl`.`fact_parent` AS `t0`;
