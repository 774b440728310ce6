-- leaf: leaf(x) :- person(x), !parent(x, _).

SELECT DISTINCT
  "t0"."a0" AS "a0"
FROM "memory"."sqlrl"."fact_person" AS "t0"
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM "memory"."sqlrl"."fact_parent" AS "n0"
    WHERE
      "n0"."a0" = "t0"."a0"
  );
