-- unsatisfied: InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q)

SELECT
  "p"."clause" AS "clause",
  "o0"."atom" AS "l0",
  "o1"."atom" AS "l1"
FROM "memory"."sqlrl"."scratch_parameter" AS "p"
CROSS JOIN "memory"."sqlrl"."fact_Next" AS "t0"
INNER JOIN (
  SELECT
    "a"."atom",
    "a"."a0",
    "a"."a1",
    "a"."a2"
  FROM "memory"."sqlrl"."atom_InField" AS "a"
  JOIN "memory"."sqlrl"."scratch_world" AS "w"
    ON "w"."atom" = "a"."atom"
) AS "o0"
  ON "o0"."a1" = "p"."k0" AND "o0"."a2" = "t0"."a0"
INNER JOIN (
  SELECT
    "a"."atom",
    "a"."a0",
    "a"."a1",
    "a"."a2"
  FROM "memory"."sqlrl"."atom_InField" AS "a"
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM "memory"."sqlrl"."scratch_world" AS "w"
      WHERE
        "w"."atom" = "a"."atom"
    )
) AS "o1"
  ON "o1"."a0" = "o0"."a0" AND "o1"."a1" = "p"."k1" AND "o1"."a2" = "t0"."a1"
WHERE
  (
    "p"."k0" <> "p"."k1" OR "t0"."a0" <> "t0"."a1"
  );
