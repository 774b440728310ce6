-- ground: 1 Cancer(x) => Cancer(y) v x = y v Friends(x, Anna)

SELECT
  "p"."clause" AS "clause",
  "o0"."atom" AS "l0",
  "o1"."atom" AS "l1"
FROM "memory"."sqlrl"."scratch_parameter" AS "p"
CROSS JOIN "memory"."sqlrl"."atom_Cancer" AS "o0"
CROSS JOIN "memory"."sqlrl"."atom_Cancer" AS "o1"
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM "memory"."sqlrl"."fact_Friends" AS "n0"
    WHERE
      "n0"."a0" = "o0"."a0" AND "n0"."a1" = "p"."k0"
  )
  AND "o0"."a0" <> "o1"."a0";
