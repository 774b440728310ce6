-- sibling: sibling(x, y) :- parent(z, x), parent(z, y), x != y.

SELECT DISTINCT
  "t0"."a1" AS "a0",
  "t1"."a1" AS "a1"
FROM "memory"."sqlrl"."fact_parent" AS "t0"
INNER JOIN "memory"."sqlrl"."fact_parent" AS "t1"
  ON "t1"."a0" = "t0"."a0"
WHERE
  "t0"."a1" <> "t1"."a1";
