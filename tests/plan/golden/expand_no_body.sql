-- expand bodies: 1 Smokes(+x)

SELECT DISTINCT
  "d0"."id" AS "plus0"
FROM "memory"."sqlrl"."dictionary_person" AS "d0";
