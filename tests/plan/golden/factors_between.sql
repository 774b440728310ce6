-- factors: Next(p, q) ^ InField(c, +f, p) => InField(c, +f, q) v Next(q, p).

WITH "m0" AS (
  SELECT
    "f3"."a0" AS "s0",
    "f2g"."a0" AS "s1",
    "f3"."a1" AS "s2",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "f2"."a0",
      "f2"."a1"
    FROM "memory"."sqlrl"."fact_Next" AS "f2"
    WHERE
      NOT EXISTS(
        SELECT
          1
        FROM "memory"."sqlrl"."fact_Next" AS "g0"
        WHERE
          "g0"."a0" = "f2"."a1" AND "g0"."a1" = "f2"."a0"
      )
  ) AS "f2g"
  INNER JOIN (
    SELECT
      "a0",
      "a1",
      "a2"
    FROM "memory"."sqlrl"."atom_InField"
  ) AS "f3"
    ON "f3"."a2" = "f2g"."a1"
  INNER JOIN "memory"."sqlrl"."domain_position" AS "d4"
    ON "d4"."example" = "f3"."a0" AND "d4"."id" = "f2g"."a1"
  GROUP BY
    "f3"."a0",
    "f2g"."a0",
    "f3"."a1"
), "m1" AS (
  SELECT
    "f6"."a0" AS "s0",
    "f7g"."a1" AS "s1",
    "f6"."a1" AS "s2",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a0",
      "a1",
      "a2"
    FROM "memory"."sqlrl"."atom_InField"
  ) AS "f6"
  INNER JOIN (
    SELECT
      "f7"."a0",
      "f7"."a1"
    FROM "memory"."sqlrl"."fact_Next" AS "f7"
    WHERE
      NOT EXISTS(
        SELECT
          1
        FROM "memory"."sqlrl"."fact_Next" AS "g0"
        WHERE
          "g0"."a0" = "f7"."a1" AND "g0"."a1" = "f7"."a0"
      )
  ) AS "f7g"
    ON "f7g"."a0" = "f6"."a2"
  GROUP BY
    "f6"."a0",
    "f7g"."a1",
    "f6"."a1"
), "m2" AS (
  SELECT
    "f9"."a0" AS "s0",
    "f10g"."a1" AS "s1",
    "f9"."a1" AS "s2",
    COUNT(*) AS "n"
  FROM (
    SELECT
      "a0",
      "a1",
      "a2"
    FROM "memory"."sqlrl"."atom_InField"
  ) AS "f9"
  INNER JOIN (
    SELECT
      "f10"."a0",
      "f10"."a1"
    FROM "memory"."sqlrl"."fact_Next" AS "f10"
    WHERE
      NOT EXISTS(
        SELECT
          1
        FROM "memory"."sqlrl"."fact_Next" AS "g0"
        WHERE
          "g0"."a0" = "f10"."a1" AND "g0"."a1" = "f10"."a0"
      )
  ) AS "f10g"
    ON "f10g"."a0" = "f9"."a2"
  INNER JOIN (
    SELECT
      "a0",
      "a1",
      "a2"
    FROM "memory"."sqlrl"."atom_InField"
  ) AS "f11"
    ON "f11"."a0" = "f9"."a0" AND "f11"."a1" = "f9"."a1" AND "f11"."a2" = "f10g"."a1"
  GROUP BY
    "f9"."a0",
    "f10g"."a1",
    "f9"."a1"
)
SELECT
  "x"."clause" AS "clause",
  "x"."example" AS "example",
  "x"."nodes",
  "y"."factors",
  "y"."edges"
FROM (
  SELECT
    "clause",
    "example",
    COUNT(DISTINCT "atom") AS "nodes"
  FROM (
    SELECT
      "clause",
      "example",
      "atom"
    FROM (
      SELECT
        "clause",
        "example",
        "atom",
        CAST(SUM("terms"."n") AS INT128) AS "n"
      FROM (
        SELECT
          "p"."clause" AS "clause",
          "o0"."example" AS "example",
          "o0"."atom" AS "atom",
          CAST(SUM("m0"."n") AS INT128) AS "n"
        FROM (
          SELECT
            "a0",
            "a1",
            "a2"
          FROM "memory"."sqlrl"."atom_InField"
        ) AS "f1"
        INNER JOIN "memory"."sqlrl"."atom_InField" AS "o0"
          ON "o0"."a0" = "f1"."a0" AND "o0"."a1" = "f1"."a1" AND "o0"."a2" = "f1"."a2"
        INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
          ON "p"."k0" = "f1"."a1"
        INNER JOIN "m0" AS "m0"
          ON "m0"."s0" = "f1"."a0" AND "m0"."s1" = "f1"."a2" AND "m0"."s2" = "f1"."a1"
        GROUP BY
          "p"."clause",
          "o0"."example",
          "o0"."atom"
      ) AS "terms"
      GROUP BY
        "clause",
        "example",
        "atom"
      HAVING
        CAST(SUM("terms"."n") AS INT128) > 0
    ) AS "a"
    UNION ALL
    SELECT
      "clause",
      "example",
      "atom"
    FROM (
      SELECT
        "clause",
        "example",
        "atom",
        CAST(SUM("terms"."n") AS INT128) AS "n"
      FROM (
        SELECT
          "p"."clause" AS "clause",
          "o5"."example" AS "example",
          "o5"."atom" AS "atom",
          CAST(SUM("m1"."n") AS INT128) AS "n"
        FROM "memory"."sqlrl"."atom_InField" AS "o5"
        INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
          ON "p"."k0" = "o5"."a1"
        INNER JOIN "m1" AS "m1"
          ON "m1"."s0" = "o5"."a0" AND "m1"."s1" = "o5"."a2" AND "m1"."s2" = "o5"."a1"
        GROUP BY
          "p"."clause",
          "o5"."example",
          "o5"."atom"
      ) AS "terms"
      GROUP BY
        "clause",
        "example",
        "atom"
      HAVING
        CAST(SUM("terms"."n") AS INT128) > 0
    ) AS "a"
  ) AS "a"
  GROUP BY
    "clause",
    "example"
) AS "x"
JOIN (
  SELECT
    "clause",
    "example",
    "n" AS "factors",
    "n" * 2 AS "edges"
  FROM (
    SELECT
      "clause",
      "example",
      CAST(SUM("terms"."n") AS INT128) AS "n"
    FROM (
      SELECT
        "p"."clause" AS "clause",
        "o8"."example" AS "example",
        CAST(SUM("m2"."n") AS INT128) AS "n"
      FROM "memory"."sqlrl"."example" AS "o8"
      INNER JOIN "memory"."sqlrl"."domain_position" AS "d12"
        ON "d12"."example" = "o8"."example"
      INNER JOIN "m2" AS "m2"
        ON "m2"."s0" = "o8"."example" AND "m2"."s1" = "d12"."id"
      INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
        ON "p"."k0" = "m2"."s2"
      GROUP BY
        "p"."clause",
        "o8"."example"
    ) AS "terms"
    GROUP BY
      "clause",
      "example"
    HAVING
      CAST(SUM("terms"."n") AS INT128) > 0
  ) AS "f"
) AS "y"
  ON "x"."clause" = "y"."clause" AND "x"."example" = "y"."example";
