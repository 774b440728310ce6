-- ground: 1 InField(c, f, p) ^ p != q => InField(c, f, q) v Next(p, q)

SELECT
  "o0"."atom" AS "l0",
  "o1"."atom" AS "l1"
FROM "memory"."sqlrl"."atom_InField" AS "o0"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o1"
  ON "o1"."a0" = "o0"."a0" AND "o1"."a1" = "o0"."a1"
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM "memory"."sqlrl"."fact_Next" AS "n0"
    WHERE
      "n0"."a0" = "o0"."a2" AND "n0"."a1" = "o1"."a2"
  )
  AND "o0"."a2" <> "o1"."a2";
