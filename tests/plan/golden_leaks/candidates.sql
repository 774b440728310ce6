WITH fact AS MATERIALIZED (
  SELECT DISTINCT
    "f"."unit",
    "f"."fact"
  FROM (
    SELECT
      "p"."bib" AS "unit",
      ['Token', '3', CAST(COUNT(*) AS TEXT)] AS "fact"
    FROM "sqlrl"."named_Token" AS "p"
    GROUP BY
      "p"."bib"
    UNION ALL
    SELECT
      "p"."bib" AS "unit",
      ['Cites', '1', "p"."bib_2"] AS "fact"
    FROM "sqlrl"."named_Cites" AS "p"
  ) AS "f"
), placed AS MATERIALIZED (
  SELECT DISTINCT
    "a"."example" AS "unit",
    "a"."part"
  FROM "sqlrl"."audit_atom" AS "a"
  WHERE
    "a"."run" = 7
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
      2 * LN(CAST("t"."n" AS DOUBLE)) + 3
    )) AS BIGINT)
), ranked AS MATERIALIZED (
  SELECT
    "m"."unit",
    "m"."number",
    "z"."size",
    ROW_NUMBER() OVER (PARTITION BY "m"."unit" ORDER BY "m"."number") AS "place"
  FROM "member" AS "m"
  INNER JOIN "sized" AS "z"
    ON "z"."unit" = "m"."unit"
), prefix AS MATERIALIZED (
  SELECT
    "r"."unit",
    "r"."number",
    "r"."size",
    "r"."size" - (
      20 * "r"."size" // 100 + 1
    ) AS "rest"
  FROM "ranked" AS "r"
  WHERE
    "r"."place" <= (
      20 * "r"."size" // 100 + 1
    )
)
SELECT
  COALESCE(CAST(SUM(CAST("u"."units" AS INT128) * "u"."units") AS INT128), 0) AS "n"
FROM (
  SELECT
    "p"."number",
    COUNT(*) AS "units"
  FROM "prefix" AS "p"
  GROUP BY
    "p"."number"
) AS "u";
