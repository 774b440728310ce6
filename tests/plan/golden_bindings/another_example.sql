-- !InField(c, f, p) v !Same(c, d) v !Token(W, p, d)
-- variables (0, 3, 1, 2), parameters (4,), undecided (0,)

SELECT
  "b"."example",
  "b"."v0",
  "b"."v1",
  "b"."v2",
  "b"."v3",
  "b"."k0"
FROM (
  SELECT
    "x0"."example" AS "example",
    "x0"."example" AS "v0",
    "d1"."id" AS "v1",
    "d2"."example" AS "v2",
    "d3"."id" AS "v3",
    "t5"."a0" AS "k0"
  FROM "memory"."sqlrl"."scratch_examples" AS "x0"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d1"
    ON "d1"."example" = "x0"."example"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d2"
    ON "d2"."id" = "d1"."id"
  INNER JOIN "memory"."sqlrl"."fact_Same" AS "t4"
    ON "t4"."a0" = "x0"."example" AND "t4"."a1" = "d2"."example"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "t5"
    ON "t5"."a1" = "d1"."id" AND "t5"."a2" = "d2"."example"
  CROSS JOIN "memory"."sqlrl"."dictionary_field" AS "d3"
  LIMIT 1001
) AS "b"
ORDER BY
  "b"."example",
  "b"."v0",
  "b"."v1",
  "b"."v2",
  "b"."v3",
  "b"."k0";

-- rows
-- (0, 0, 0, 1, 0, 1)
-- (0, 0, 0, 1, 1, 1)
