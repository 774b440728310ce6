-- !InField(B1, f, p) v !Token(W, p, B1)
-- variables (3, 1), parameters (0, 4, 2), undecided (0,)

SELECT
  "b"."example",
  "b"."k0",
  "b"."v0",
  "b"."k1",
  "b"."v1",
  "b"."k2"
FROM (
  SELECT
    "x0"."example" AS "example",
    "x0"."example" AS "k0",
    "d1"."id" AS "v0",
    "d2"."example" AS "k1",
    "d3"."id" AS "v1",
    "t4"."a0" AS "k2"
  FROM "memory"."sqlrl"."scratch_examples" AS "x0"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d1"
    ON "d1"."example" = "x0"."example"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d2"
    ON "d2"."id" = "d1"."id"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "t4"
    ON "t4"."a1" = "d1"."id" AND "t4"."a2" = "d2"."example"
  CROSS JOIN "memory"."sqlrl"."dictionary_field" AS "d3"
  LIMIT 1001
) AS "b"
ORDER BY
  "b"."example",
  "b"."k0",
  "b"."v0",
  "b"."k1",
  "b"."v1",
  "b"."k2";

-- rows
-- (0, 0, 0, 0, 0, 1)
-- (0, 0, 0, 0, 1, 1)
-- (0, 0, 0, 1, 0, 1)
-- (0, 0, 0, 1, 1, 1)
-- (0, 0, 1, 0, 0, 0)
-- (0, 0, 1, 0, 1, 0)
-- (1, 1, 0, 0, 0, 1)
-- (1, 1, 0, 0, 1, 1)
-- (1, 1, 0, 1, 0, 1)
-- (1, 1, 0, 1, 1, 1)
-- (1, 1, 2, 1, 0, 1)
-- (1, 1, 2, 1, 1, 1)
