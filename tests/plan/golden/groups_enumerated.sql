-- count by v1: 1 Smokes(x) v Smokes(y) v Cancer(x) v Cancer(y) v Friends(x, y) v Friends(y, x)

SELECT
  "ed1"."id" AS "b0",
  CAST(COUNT(*) AS INT128) AS "n"
FROM "memory"."sqlrl"."dictionary_person" AS "ed0"
CROSS JOIN "memory"."sqlrl"."dictionary_person" AS "ed1"
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      WHERE
        "a"."truth"
    ) AS "et2"
    WHERE
      "et2"."a0" = "ed0"."id"
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      WHERE
        "a"."truth"
    ) AS "et3"
    WHERE
      "et3"."a0" = "ed1"."id"
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM "memory"."sqlrl"."fact_Friends" AS "et4"
    WHERE
      "et4"."a0" = "ed0"."id" AND "et4"."a1" = "ed1"."id"
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM "memory"."sqlrl"."fact_Friends" AS "et5"
    WHERE
      "et5"."a0" = "ed1"."id" AND "et5"."a1" = "ed0"."id"
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Smokes" AS "a"
      WHERE
        "a"."truth"
      UNION ALL
      SELECT
        "a0"
      FROM "memory"."sqlrl"."fact_Smokes"
      WHERE
        "given" AND "truth"
    ) AS "et6"
    WHERE
      "et6"."a0" = "ed0"."id"
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Smokes" AS "a"
      WHERE
        "a"."truth"
      UNION ALL
      SELECT
        "a0"
      FROM "memory"."sqlrl"."fact_Smokes"
      WHERE
        "given" AND "truth"
    ) AS "et7"
    WHERE
      "et7"."a0" = "ed1"."id"
  )
GROUP BY
  "ed1"."id";
