-- size by v1 v2: InField(c, Author, p) ^ Next(p, q) => InField(c, Title, q)

SELECT
  "d0"."id" AS "b0",
  "d1"."id" AS "b1",
  CAST(SUM(1) AS INT128) AS "n"
FROM "memory"."sqlrl"."domain_position" AS "d0"
INNER JOIN "memory"."sqlrl"."domain_position" AS "d1"
  ON "d1"."example" = "d0"."example"
GROUP BY
  "d0"."id",
  "d1"."id";
