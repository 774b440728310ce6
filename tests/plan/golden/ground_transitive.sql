-- ground: 1 Friends(x, y) ^ Cancer(x) => Cancer(y)

SELECT
  "o0"."atom" AS "l0",
  "o1"."atom" AS "l1"
FROM "memory"."sqlrl"."fact_Friends" AS "t0"
INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o0"
  ON "o0"."a0" = "t0"."a0"
INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o1"
  ON "o1"."a0" = "t0"."a1"
WHERE
  "t0"."a0" <> "t0"."a1";
