-- idle_bad: InField(c, f, p) ^ Next(p, q) => InField(c, f, q) v p = q

SELECT
  "d0"."name" AS "v0",
  "d1"."name" AS "v1",
  "d2"."name" AS "v2",
  "d3"."name" AS "v3"
FROM (
  SELECT DISTINCT
    *
  FROM (
    SELECT
      "ed0"."id" AS "i0",
      "ed1"."id" AS "i1",
      "ed2"."id" AS "i2",
      "ed3"."id" AS "i3"
    FROM "memory"."sqlrl"."dictionary_bib" AS "ed0"
    CROSS JOIN "memory"."sqlrl"."bound_field" AS "ed1"
    INNER JOIN "memory"."sqlrl"."domain_position" AS "ed2"
      ON "ed2"."example" = "ed0"."id"
    INNER JOIN "memory"."sqlrl"."domain_position" AS "ed3"
      ON "ed3"."example" = "ed0"."id"
    WHERE
      NOT EXISTS(
        SELECT
          1
        FROM "memory"."sqlrl"."fact_Next" AS "et4"
        WHERE
          "et4"."a0" = "ed2"."id" AND "et4"."a1" = "ed3"."id"
      )
      AND NOT EXISTS(
        SELECT
          1
        FROM (
          SELECT
            "a"."a0",
            "a"."a1",
            "a"."a2"
          FROM "memory"."sqlrl"."atom_InField" AS "a"
          WHERE
            "a"."truth"
        ) AS "et5"
        WHERE
          "et5"."a0" = "ed0"."id" AND "et5"."a1" = "ed1"."id" AND "et5"."a2" = "ed2"."id"
      )
    ORDER BY
      "i0",
      "i1",
      "i2",
      "i3"
    LIMIT 10
  ) AS "f"
) AS "g"
JOIN "memory"."sqlrl"."dictionary_bib" AS "d0"
  ON "d0"."id" = "g"."i0"
JOIN "memory"."sqlrl"."bound_field" AS "d1"
  ON "d1"."id" = "g"."i1"
JOIN "memory"."sqlrl"."dictionary_position" AS "d2"
  ON "d2"."id" = "g"."i2"
JOIN "memory"."sqlrl"."dictionary_position" AS "d3"
  ON "d3"."id" = "g"."i3"
ORDER BY
  "g"."i0",
  "g"."i1",
  "g"."i2",
  "g"."i3"
LIMIT 5;
