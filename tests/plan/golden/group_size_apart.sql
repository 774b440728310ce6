-- size by v0 v1: 1 Friends(x, y) => Cancer(z)

SELECT
  "part0"."b0",
  "part1"."b1",
  "part0"."n" * "part1"."n" * "part2"."n" AS "n"
FROM (
  SELECT
    "d0"."id" AS "b0",
    CAST(1 AS INT128) AS "n"
  FROM "memory"."sqlrl"."dictionary_person" AS "d0"
) AS "part0"
CROSS JOIN (
  SELECT
    "d0"."id" AS "b1",
    CAST(1 AS INT128) AS "n"
  FROM "memory"."sqlrl"."dictionary_person" AS "d0"
) AS "part1"
CROSS JOIN (
  SELECT
    CAST(3 AS INT128) AS "n"
) AS "part2"
WHERE
  "part2"."n" <> 0;
