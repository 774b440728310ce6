-- ancestor: ancestor(x, y) :- parent(x, y). ancestor(x, z) :- ancestor(x, y), ancestor(y, z).

WITH RECURSIVE "closure"("a0", "a1") USING KEY ("a0", "a1") AS (
  SELECT DISTINCT
    "t0"."a0" AS "a0",
    "t0"."a1" AS "a1"
  FROM "memory"."sqlrl"."fact_parent" AS "t0"
  UNION
  (
    SELECT
      "t0"."a0" AS "a0",
      "t1"."a1" AS "a1"
    FROM "closure" AS "t0"
    INNER JOIN "recurring"."closure" AS "t1"
      ON "t1"."a0" = "t0"."a1"
    UNION ALL
    SELECT
      "t0"."a0" AS "a0",
      "t1"."a1" AS "a1"
    FROM "recurring"."closure" AS "t0"
    INNER JOIN "closure" AS "t1"
      ON "t1"."a0" = "t0"."a1"
  )
)
SELECT
  "a0",
  "a1"
FROM "closure";
