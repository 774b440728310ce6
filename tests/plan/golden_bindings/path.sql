-- !InField(c, Author, p) v !Token(W, p, c) v !Next(p, q) v !Token(V, q, c)
-- variables (0, 1, 2), parameters (-1, 3, 4), undecided (0,)

SELECT
  "b"."example",
  "b"."v0",
  "b"."v1",
  "b"."v2",
  "b"."k0",
  "b"."k1"
FROM (
  SELECT
    "x0"."example" AS "example",
    "x0"."example" AS "v0",
    "t2"."a1" AS "v1",
    "t1"."a1" AS "v2",
    "t2"."a0" AS "k0",
    "t3"."a0" AS "k1"
  FROM "memory"."sqlrl"."scratch_examples" AS "x0"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "t2"
    ON "t2"."a2" = "x0"."example"
  INNER JOIN "memory"."sqlrl"."fact_Next" AS "t1"
    ON "t1"."a0" = "t2"."a1"
  INNER JOIN "memory"."sqlrl"."fact_Token" AS "t3"
    ON "t3"."a1" = "t1"."a1" AND "t3"."a2" = "x0"."example"
  LIMIT 1001
) AS "b"
ORDER BY
  "b"."example",
  "b"."v0",
  "b"."v1",
  "b"."v2",
  "b"."k0",
  "b"."k1";

-- rows
-- (0, 0, 0, 1, 1, 0)
-- (0, 0, 1, 1, 0, 0)
