-- tied by v1 v2: InField(c, Author, p) ^ Next(p, q) => InField(c, Title, q)

WITH "m0" AS (
  SELECT
    "d0"."example" AS "s0",
    COUNT(*) AS "n"
  FROM "memory"."sqlrl"."domain_position" AS "d0"
  GROUP BY
    "d0"."example"
)
SELECT
  CAST(SUM("m0"."n") AS INT128) AS "n"
FROM "memory"."sqlrl"."domain_position" AS "d1"
INNER JOIN "m0" AS "m0"
  ON "m0"."s0" = "d1"."example";
