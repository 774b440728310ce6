-- !InField(c, Author, p) v !InField(c, Title, q)
-- variables (0, 1, 2), parameters (-1, -1), undecided (0, 1)

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
  LIMIT 1001
) AS "b"
ORDER BY
  "b"."example",
  "b"."v0",
  "b"."v1",
  "b"."v2";

-- rows
-- (0, 0, 0, 0)
-- (0, 0, 0, 1)
-- (0, 0, 1, 0)
-- (0, 0, 1, 1)
-- (1, 1, 0, 0)
-- (1, 1, 0, 2)
-- (1, 1, 2, 0)
-- (1, 1, 2, 2)
