WITH fact AS MATERIALIZED (
  SELECT DISTINCT
    "f"."unit",
    "f"."fact"
  FROM (
    SELECT
      "p"."team" AS "unit",
      ['Lost', '1', "p"."team_2"] AS "fact"
    FROM "sqlrl"."named_Lost" AS "p"
    UNION ALL
    SELECT
      "p"."team_2" AS "unit",
      ['Lost', '2', "p"."team"] AS "fact"
    FROM "sqlrl"."named_Lost" AS "p"
    UNION ALL
    SELECT
      "p"."team" AS "unit",
      ['Coach', '1', "p"."person"] AS "fact"
    FROM "sqlrl"."named_Coach" AS "p"
    WHERE
      "p"."value" >= 0.5
  ) AS "f"
), placed AS MATERIALIZED (
  SELECT DISTINCT
    "u"."unit",
    "u"."part"
  FROM (
    SELECT
      "a"."arguments"[1] AS "unit",
      "a"."part"
    FROM "sqlrl"."audit_atom" AS "a"
    WHERE
      "a"."run" = 7
    UNION ALL
    SELECT
      "a"."arguments"[2] AS "unit",
      "a"."part"
    FROM "sqlrl"."audit_atom" AS "a"
    WHERE
      "a"."run" = 7
  ) AS "u"
), total AS MATERIALIZED (
  SELECT
    COUNT(DISTINCT "f"."unit") AS "n"
  FROM "fact" AS "f"
), common AS MATERIALIZED (
  SELECT
    "f"."fact",
    COUNT(*) AS "units"
  FROM "fact" AS "f"
  GROUP BY
    "f"."fact"
), weighed AS MATERIALIZED (
  SELECT
    "c"."fact",
    ROW_NUMBER() OVER (ORDER BY "c"."units", "c"."fact") AS "number",
    CAST(FLOOR(100 * (
      LN(CAST("t"."n" AS DOUBLE) / "c"."units")
    )) AS BIGINT) AS "weight"
  FROM "common" AS "c"
  CROSS JOIN "total" AS "t"
), member AS MATERIALIZED (
  SELECT
    "f"."unit",
    "w"."number",
    "w"."weight"
  FROM "fact" AS "f"
  INNER JOIN "weighed" AS "w"
    ON "w"."fact" = "f"."fact"
), sized AS MATERIALIZED (
  SELECT
    "m"."unit",
    COUNT(*) AS "size"
  FROM "member" AS "m"
  CROSS JOIN "total" AS "t"
  GROUP BY
    "m"."unit",
    "t"."n"
  HAVING
    COUNT(*) >= 3
    AND SUM("m"."weight") >= CAST(FLOOR(100 * (
      1 * LN(CAST("t"."n" AS DOUBLE))
    )) AS BIGINT)
), whole AS MATERIALIZED (
  SELECT
    "m"."unit",
    LIST_SORT(ARRAY_AGG("m"."number")) AS "facts"
  FROM "member" AS "m"
  INNER JOIN "sized" AS "z"
    ON "z"."unit" = "m"."unit"
  GROUP BY
    "m"."unit"
), alike AS MATERIALIZED (
  SELECT
    "w"."facts",
    "p"."part",
    MIN("w"."unit") AS "unit"
  FROM "whole" AS "w"
  INNER JOIN "placed" AS "p"
    ON "p"."unit" = "w"."unit"
  GROUP BY
    "w"."facts",
    "p"."part"
)
SELECT
  "w"."unit",
  MIN("g"."unit") AS "twin"
FROM "whole" AS "w"
INNER JOIN "placed" AS "p"
  ON "p"."unit" = "w"."unit"
INNER JOIN "alike" AS "g"
  ON "g"."facts" = "w"."facts"
INNER JOIN "sqlrl"."audit_seen" AS "s"
  ON "s"."run" = 7 AND "s"."test" = "p"."part" AND "s"."training" = "g"."part"
LEFT JOIN (
  SELECT DISTINCT
    "o"."unit",
    "t"."test" AS "part"
  FROM "placed" AS "o"
  INNER JOIN "sqlrl"."audit_seen" AS "t"
    ON "t"."run" = 7 AND "t"."training" = "o"."part"
) AS "k"
  ON "k"."unit" = "w"."unit" AND "k"."part" = "p"."part"
WHERE
  "k"."unit" IS NULL
GROUP BY
  "w"."unit"
ORDER BY
  "w"."unit";
