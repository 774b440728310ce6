-- ground: 1 Friends(x, y) ^ Friends(y, z) => Cancer(x) v Cancer(y) v Cancer(z)

SELECT
  LIST_SORT(["o0"."atom", "o1"."atom", "o2"."atom"])[1] AS "l0",
  LIST_SORT(["o0"."atom", "o1"."atom", "o2"."atom"])[2] AS "l1",
  LIST_SORT(["o0"."atom", "o1"."atom", "o2"."atom"])[3] AS "l2",
  COUNT(*) AS "multiplicity"
FROM "memory"."sqlrl"."fact_Friends" AS "t0"
INNER JOIN "memory"."sqlrl"."fact_Friends" AS "t1"
  ON "t1"."a0" = "t0"."a1"
INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o0"
  ON "o0"."a0" = "t0"."a0"
INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o1"
  ON "o1"."a0" = "t0"."a1"
INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "o2"
  ON "o2"."a0" = "t1"."a1"
GROUP BY
  LIST_SORT(["o0"."atom", "o1"."atom", "o2"."atom"])[1],
  LIST_SORT(["o0"."atom", "o1"."atom", "o2"."atom"])[2],
  LIST_SORT(["o0"."atom", "o1"."atom", "o2"."atom"])[3];
