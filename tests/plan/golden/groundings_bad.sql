-- applies_bad: 1 Friends(x, y) ^ Friends(y, z) => Friends(x, z)

SELECT
  "d0"."name" AS "v0",
  "d1"."name" AS "v1",
  "d2"."name" AS "v2"
FROM (
  SELECT DISTINCT
    *
  FROM (
    SELECT
      "et1"."a0" AS "i0",
      "et0"."a0" AS "i1",
      "et0"."a1" AS "i2"
    FROM "memory"."sqlrl"."fact_Friends" AS "et0"
    INNER JOIN "memory"."sqlrl"."fact_Friends" AS "et1"
      ON "et1"."a1" = "et0"."a0"
    WHERE
      NOT EXISTS(
        SELECT
          1
        FROM "memory"."sqlrl"."fact_Friends" AS "et2"
        WHERE
          "et2"."a0" = "et1"."a0" AND "et2"."a1" = "et0"."a1"
      )
    ORDER BY
      "i0",
      "i1",
      "i2"
    LIMIT 10
  ) AS "f"
) AS "g"
JOIN "memory"."sqlrl"."dictionary_person" AS "d0"
  ON "d0"."id" = "g"."i0"
JOIN "memory"."sqlrl"."dictionary_person" AS "d1"
  ON "d1"."id" = "g"."i1"
JOIN "memory"."sqlrl"."dictionary_person" AS "d2"
  ON "d2"."id" = "g"."i2"
ORDER BY
  "g"."i0",
  "g"."i1",
  "g"."i2"
LIMIT 5;
