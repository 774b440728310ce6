-- number by v1 v2: InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q)

SELECT
  CAST(COUNT(*) AS INT128) AS "n"
FROM (
  SELECT
    "d0"."id" AS "b0",
    "d1"."id" AS "b1",
    CAST(SUM(1) AS INT128) AS "n"
  FROM "memory"."sqlrl"."domain_position" AS "d0"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d1"
    ON "d1"."example" = "d0"."example"
  GROUP BY
    "d0"."id",
    "d1"."id"
) AS "rows_of"
WHERE
  "rows_of"."n" <> 0;
