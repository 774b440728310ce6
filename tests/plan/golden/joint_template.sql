-- joint: Token(+w, p, c) ^ Next(p, q) ^ InField(c, +f, p) ^ InField(c, +f, q)

SELECT
  "p"."clause" AS "clause",
  CAST("o0"."truth" AS BIGINT) * 1 + CAST("o1"."truth" AS BIGINT) * 2 AS "pattern",
  COUNT(*) AS "n",
  SUM(CAST(1 AS BIGINT)) AS "groundings"
FROM "memory"."sqlrl"."scratch_parameter" AS "p"
CROSS JOIN "memory"."sqlrl"."fact_Next" AS "t0"
INNER JOIN "memory"."sqlrl"."fact_Token" AS "t1"
  ON "t1"."a0" = "p"."k1" AND "t1"."a1" = "t0"."a0"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o0"
  ON "o0"."a0" = "t1"."a2" AND "o0"."a1" = "p"."k0" AND "o0"."a2" = "t0"."a0"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o1"
  ON "o1"."a0" = "t1"."a2" AND "o1"."a1" = "p"."k0" AND "o1"."a2" = "t0"."a1"
WHERE
  NOT "o0"."truth" IS NULL
  AND NOT "o1"."truth" IS NULL
  AND "o0"."atom" <> "o1"."atom"
GROUP BY
  "p"."clause",
  CAST("o0"."truth" AS BIGINT) * 1 + CAST("o1"."truth" AS BIGINT) * 2;
