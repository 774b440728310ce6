WITH mention AS MATERIALIZED (
  SELECT
    "e"."entity",
    "e"."part",
    COUNT(*) AS "atoms",
    SUM(CASE WHEN "e"."truth" THEN 1 ELSE 0 END) AS "true_atoms"
  FROM (
    SELECT
      "a"."arguments"[1] AS "entity",
      "a"."part",
      "a"."truth"
    FROM "sqlrl"."audit_atom" AS "a"
    WHERE
      "a"."run" = 7 AND NOT "a"."truth" IS NULL
    UNION ALL
    SELECT
      "a"."arguments"[2] AS "entity",
      "a"."part",
      "a"."truth"
    FROM "sqlrl"."audit_atom" AS "a"
    WHERE
      "a"."run" = 7 AND NOT "a"."truth" IS NULL
  ) AS "e"
  GROUP BY
    "e"."entity",
    "e"."part"
)
SELECT
  "m"."entity",
  CAST(SUM("m"."atoms") AS BIGINT) AS "atoms",
  CAST(SUM("m"."true_atoms") AS BIGINT) AS "true_atoms"
FROM "mention" AS "m"
WHERE
  "m"."entity" IN (
    SELECT
      "t"."entity"
    FROM "mention" AS "t"
    INNER JOIN "mention" AS "r"
      ON "r"."entity" = "t"."entity"
    INNER JOIN "sqlrl"."audit_seen" AS "s"
      ON "s"."run" = 7 AND "s"."test" = "t"."part" AND "s"."training" = "r"."part"
  )
GROUP BY
  "m"."entity"
ORDER BY
  "m"."entity";
