-- !InField(c, f, p) v !Token(W, p, c) v !IsDate(W)
-- variables (0, 1, 3), parameters (2, -1), undecided (0, 2)

SELECT
  "b"."example",
  "b"."v0",
  "b"."v1",
  "b"."k0",
  "b"."v2"
FROM (
  SELECT
    "x0"."example" AS "example",
    "x0"."example" AS "v0",
    "d1"."id" AS "v1",
    "t2"."a0" AS "k0",
    "t2"."a1" AS "v2"
  FROM "memory"."sqlrl"."scratch_examples" AS "x0"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "t2"
    ON "t2"."a2" = "x0"."example"
  CROSS JOIN "memory"."sqlrl"."dictionary_field" AS "d1"
  LIMIT 1001
) AS "b"
ORDER BY
  "b"."example",
  "b"."v0",
  "b"."v1",
  "b"."k0",
  "b"."v2";

-- rows
-- (0, 0, 0, 0, 1)
-- (0, 0, 0, 1, 0)
-- (0, 0, 1, 0, 1)
-- (0, 0, 1, 1, 0)
-- (1, 1, 0, 1, 0)
-- (1, 1, 0, 1, 2)
-- (1, 1, 1, 1, 0)
-- (1, 1, 1, 1, 2)
