-- expand: Token(+w, p, c) => InField(c, +f, p)

SELECT DISTINCT
  "t0"."a0" AS "plus0",
  "o0"."a1" AS "plus1"
FROM "memory"."sqlrl"."fact_Token" AS "t0"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o0"
  ON "o0"."a0" = "t0"."a2" AND "o0"."a2" = "t0"."a1";
