WITH known AS MATERIALIZED (
  SELECT DISTINCT
    "k"."part",
    "k"."type",
    "k"."entity"
  FROM (
    SELECT
      "s"."test" AS "part",
      'person' AS "type",
      "b"."arguments"[1] AS "entity"
    FROM "sqlrl"."audit_atom" AS "b"
    INNER JOIN "sqlrl"."audit_seen" AS "s"
      ON "s"."run" = 7 AND "s"."training" = "b"."part"
    WHERE
      "b"."run" = 7
    UNION ALL
    SELECT
      "s"."test" AS "part",
      'person' AS "type",
      "b"."arguments"[2] AS "entity"
    FROM "sqlrl"."audit_atom" AS "b"
    INNER JOIN "sqlrl"."audit_seen" AS "s"
      ON "s"."run" = 7 AND "s"."training" = "b"."part"
    WHERE
      "b"."run" = 7
  ) AS "k"
)
SELECT DISTINCT
  "a"."example",
  "a"."arguments",
  "a"."truth"
FROM "sqlrl"."audit_atom" AS "a"
INNER JOIN "sqlrl"."named_Meets" AS "p"
  ON "p"."person_2" = "a"."arguments"[1] AND "p"."person" = "a"."arguments"[2]
LEFT JOIN "known" AS "n0"
  ON "n0"."part" = "a"."part"
  AND "n0"."entity" = "a"."arguments"[1]
  AND "n0"."type" = 'person'
LEFT JOIN "known" AS "n1"
  ON "n1"."part" = "a"."part"
  AND "n1"."entity" = "a"."arguments"[2]
  AND "n1"."type" = 'person'
WHERE
  "a"."run" = 7
  AND "a"."part" IN (
    SELECT
      "s"."test"
    FROM "sqlrl"."audit_seen" AS "s"
    WHERE
      "s"."run" = 7
  )
  AND "n0"."entity" IS NULL
  AND "n1"."entity" IS NULL
ORDER BY
  "a"."example",
  "a"."arguments";
