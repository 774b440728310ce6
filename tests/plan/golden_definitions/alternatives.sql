-- known: known(x) :- parent(x, _). known(x) :- parent(_, x), x != "Ann". known("Ann").

SELECT
  "t0"."a0" AS "a0"
FROM "memory"."sqlrl"."fact_parent" AS "t0"
UNION
SELECT
  "t0"."a1" AS "a0"
FROM "memory"."sqlrl"."fact_parent" AS "t0"
WHERE
  "t0"."a1" <> 0
UNION
SELECT
  CAST(0 AS INT) AS "a0";
