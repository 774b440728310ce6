-- any: any :- parent(_, _).

SELECT DISTINCT
  TRUE AS "present"
FROM "memory"."sqlrl"."fact_parent" AS "t0";
