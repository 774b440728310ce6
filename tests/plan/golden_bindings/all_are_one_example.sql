-- !Cancer(x) v !Friends(y, x) v !Friends(y, y) v !Cancer(z)
-- variables (2, 1, 0), parameters (), undecided (0, 3)

SELECT
  "b"."example",
  "b"."v0",
  "b"."v1",
  "b"."v2"
FROM (
  SELECT
    "y0"."example" AS "example",
    "d2"."id" AS "v0",
    "t3"."a0" AS "v1",
    "t4"."a1" AS "v2"
  FROM "memory"."sqlrl"."example" AS "y0"
  INNER JOIN "memory"."sqlrl"."scratch_examples" AS "x1"
    ON "x1"."example" = "y0"."example"
  CROSS JOIN "memory"."sqlrl"."dictionary_person" AS "d2"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "t3"
    ON "t3"."a1" = "t3"."a0"
  INNER JOIN "memory"."sqlrl"."fact_Friends" AS "t4"
    ON "t4"."a0" = "t3"."a0"
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
-- (0, 1, 0, 0)
-- (0, 1, 0, 1)
-- (0, 2, 0, 0)
-- (0, 2, 0, 1)
