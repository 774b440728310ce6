-- expand: InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q)

SELECT DISTINCT
  "o0"."a1" AS "plus0",
  "o1"."a1" AS "plus1"
FROM "memory"."sqlrl"."fact_Next" AS "t0"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o0"
  ON "o0"."a2" = "t0"."a0"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o1"
  ON "o1"."a0" = "o0"."a0" AND "o1"."a2" = "t0"."a1"
WHERE
  (
    "o0"."a1" <> "o1"."a1" OR "t0"."a0" <> "t0"."a1"
  );
