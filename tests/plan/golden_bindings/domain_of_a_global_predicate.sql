-- !InField(c, Author, p) v !Next(p, q) v !Next(q, q)
-- variables (0, 2, 1), parameters (-1,), undecided (0,)

SELECT
  "b"."example",
  "b"."v0",
  "b"."v1",
  "b"."v2"
FROM (
  SELECT
    "x0"."example" AS "example",
    "x0"."example" AS "v0",
    "d1"."id" AS "v1",
    "d2"."id" AS "v2"
  FROM "memory"."sqlrl"."scratch_examples" AS "x0"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d1"
    ON "d1"."example" = "x0"."example"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d2"
    ON "d2"."example" = "x0"."example"
  INNER JOIN "memory"."sqlrl"."fact_Next" AS "t3"
    ON "t3"."a0" = "d1"."id" AND "t3"."a1" = "d1"."id"
  INNER JOIN "memory"."sqlrl"."fact_Next" AS "t4"
    ON "t4"."a0" = "d2"."id" AND "t4"."a1" = "d1"."id"
  LIMIT 1001
) AS "b"
ORDER BY
  "b"."example",
  "b"."v0",
  "b"."v1",
  "b"."v2";

-- rows
-- (0, 0, 1, 0)
-- (0, 0, 1, 1)
