-- ground: Token(+w, p, c) => InField(c, +f, p)

SELECT
  "p"."clause" AS "clause",
  "o0"."atom" AS "l0"
FROM "memory"."sqlrl"."scratch_parameter" AS "p"
INNER JOIN "memory"."sqlrl"."fact_Token" AS "t0"
  ON "t0"."a0" = "p"."k1"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o0"
  ON "o0"."a0" = "t0"."a2" AND "o0"."a1" = "p"."k0" AND "o0"."a2" = "t0"."a1";
