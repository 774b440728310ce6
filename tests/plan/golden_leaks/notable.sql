SELECT
  "n"."claim",
  "n"."constant",
  "n"."said",
  "n"."right",
  "n"."tried"
FROM (
  SELECT
    "c"."claim",
    "c"."constant",
    "c"."said",
    "c"."right",
    COUNT(*) OVER (PARTITION BY "c"."claim") AS "tried"
  FROM (
    WITH by_k0 AS MATERIALIZED (
      SELECT
        "a"."arguments"[1] AS "k0",
        COUNT(*) AS "atoms",
        SUM(CASE WHEN "a"."truth" THEN 1 ELSE 0 END) AS "true_atoms"
      FROM "sqlrl"."audit_atom" AS "a"
      WHERE
        "a"."run" = 7 AND NOT "a"."truth" IS NULL
      GROUP BY
        "a"."arguments"[1]
    ), by_k1 AS MATERIALIZED (
      SELECT
        "a"."arguments"[2] AS "k1",
        COUNT(*) AS "atoms",
        SUM(CASE WHEN "a"."truth" THEN 1 ELSE 0 END) AS "true_atoms"
      FROM "sqlrl"."audit_atom" AS "a"
      WHERE
        "a"."run" = 7 AND NOT "a"."truth" IS NULL
      GROUP BY
        "a"."arguments"[2]
    )
    SELECT
      0 AS "claim",
      CAST(NULL AS TEXT) AS "constant",
      SUM("g"."atoms") AS "said",
      SUM("g"."true_atoms") AS "right"
    FROM (
      SELECT DISTINCT
        "p"."team" AS "k0"
      FROM "sqlrl"."named_Coach" AS "p"
      WHERE
        "p"."value" >= 0.5
    ) AS "c"
    INNER JOIN "by_k0" AS "g"
      ON "c"."k0" = "g"."k0"
    UNION ALL
    SELECT
      1 AS "claim",
      "c"."constant" AS "constant",
      SUM("g"."atoms") AS "said",
      SUM("g"."true_atoms") AS "right"
    FROM (
      SELECT DISTINCT
        "p"."team" AS "k0",
        "p"."person" AS "constant"
      FROM "sqlrl"."named_Coach" AS "p"
      WHERE
        "p"."value" >= 0.5
    ) AS "c"
    INNER JOIN "by_k0" AS "g"
      ON "c"."k0" = "g"."k0"
    GROUP BY
      "c"."constant"
    UNION ALL
    SELECT
      2 AS "claim",
      CAST(NULL AS TEXT) AS "constant",
      SUM("g"."atoms") AS "said",
      SUM("g"."true_atoms") AS "right"
    FROM (
      SELECT DISTINCT
        "p"."team" AS "k1"
      FROM "sqlrl"."named_Coach" AS "p"
      WHERE
        "p"."value" >= 0.5
    ) AS "c"
    INNER JOIN "by_k1" AS "g"
      ON "c"."k1" = "g"."k1"
    UNION ALL
    SELECT
      3 AS "claim",
      "c"."constant" AS "constant",
      SUM("g"."atoms") AS "said",
      SUM("g"."true_atoms") AS "right"
    FROM (
      SELECT DISTINCT
        "p"."team" AS "k1",
        "p"."person" AS "constant"
      FROM "sqlrl"."named_Coach" AS "p"
      WHERE
        "p"."value" >= 0.5
    ) AS "c"
    INNER JOIN "by_k1" AS "g"
      ON "c"."k1" = "g"."k1"
    GROUP BY
      "c"."constant"
  ) AS "c"
) AS "n"
WHERE
  2 * (
    6 - 2 * "n"."right" + "n"."said"
  ) <= 6
  OR 2 * (
    6 + 2 * "n"."right" - "n"."said"
  ) <= 6
  OR "n"."said" >= 2
  AND (
    100 * "n"."right" >= 60 * "n"."said"
    OR 100 * (
      "n"."said" - "n"."right"
    ) >= 60 * "n"."said"
  );
