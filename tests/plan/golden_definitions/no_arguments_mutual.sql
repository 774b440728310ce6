-- any: any :- parent(_, _). any :- some(x), parent(x, _). some(x) :- any, person(x).

WITH RECURSIVE "closure"("predicate", "a0") AS (
  SELECT DISTINCT
    CAST(0 AS INT) AS "predicate",
    CAST((
      -1
    ) AS INT) AS "a0"
  FROM "memory"."sqlrl"."fact_parent" AS "t0"
  UNION
  (
    SELECT
      CAST(0 AS INT) AS "predicate",
      CAST((
        -1
      ) AS INT) AS "a0"
    FROM "closure" AS "t0"
    INNER JOIN "memory"."sqlrl"."fact_parent" AS "t1"
      ON "t1"."a0" = "t0"."a0"
    WHERE
      "t0"."predicate" = 1
    UNION ALL
    SELECT
      CAST(1 AS INT) AS "predicate",
      "t1"."a0" AS "a0"
    FROM "closure" AS "t0"
    CROSS JOIN "memory"."sqlrl"."fact_person" AS "t1"
    WHERE
      "t0"."predicate" = 0
  )
)
SELECT
  TRUE AS "present"
FROM "closure"
WHERE
  "predicate" = 0;
