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
), met AS MATERIALIZED (
  SELECT
    "x"."unit",
    "y"."unit" AS "twin",
    "x"."size",
    "y"."size" AS "twin_size"
  FROM "prefix" AS "x"
  INNER JOIN "prefix" AS "y"
    ON "y"."number" = "x"."number"
    AND "y"."unit" <> "x"."unit"
    AND (
      100 * "x"."size"
    ) >= (
      80 * "y"."size"
    )
    AND (
      100 * "y"."size"
    ) >= (
      80 * "x"."size"
    )
  GROUP BY
    "x"."unit",
    "x"."size",
    "x"."rest",
    "y"."unit",
    "y"."size",
    "y"."rest"
  HAVING
    (
      180 * (
        COUNT(*) + CASE
          WHEN "x"."rest" IS NULL OR "y"."rest" IS NULL
          THEN NULL
          ELSE GREATEST("x"."rest", "y"."rest")
        END
      )
    ) >= (
      80 * (
        "x"."size" + "y"."size"
      )
    )
), candidate AS MATERIALIZED (
  SELECT DISTINCT
    "m"."unit",
    "m"."twin",
    "m"."size",
    "m"."twin_size"
  FROM "met" AS "m"
  INNER JOIN "placed" AS "p"
    ON "p"."unit" = "m"."unit"
  INNER JOIN "placed" AS "q"
    ON "q"."unit" = "m"."twin"
  INNER JOIN "sqlrl"."audit_seen" AS "s"
    ON "s"."run" = 7 AND "s"."test" = "p"."part" AND "s"."training" = "q"."part"
), "similar" AS MATERIALIZED (
  SELECT
    "c"."unit",
    "c"."twin"
  FROM "candidate" AS "c"
  INNER JOIN "member" AS "f"
    ON "f"."unit" = "c"."unit"
  INNER JOIN "member" AS "g"
    ON "g"."unit" = "c"."twin" AND "g"."number" = "f"."number"
  GROUP BY
    "c"."unit",
    "c"."twin",
    "c"."size",
    "c"."twin_size"
  HAVING
    (
      100 * COUNT(*)
    ) >= (
      80 * (
        "c"."size" + "c"."twin_size" - COUNT(*)
      )
    )
)
SELECT
  "m"."unit",
  MIN("m"."twin") AS "twin",
  COUNT(*) AS "twins"
FROM "similar" AS "m"
GROUP BY
  "m"."unit"
ORDER BY
  "m"."unit";
