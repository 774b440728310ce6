-- count: 1 !Friends(x, y) v !Friends(y, z) v !Friends(z, x)

SELECT
  CAST(SUM(1) AS INT128) AS "n"
FROM "memory"."sqlrl"."fact_Friends" AS "f0"
INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f2"
  ON "f2"."a1" = "f0"."a0"
INNER JOIN "memory"."sqlrl"."fact_Friends" AS "f1"
  ON "f1"."a0" = "f0"."a1" AND "f1"."a1" = "f2"."a0";
