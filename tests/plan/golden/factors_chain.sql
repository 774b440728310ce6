-- factors: InField(c, Author, p) ^ Next(p, q) => !InField(c, Title, q).

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
          CAST(SUM(1) AS INT128) AS "n"
        FROM (
          SELECT
            "a0",
            "a1",
            "a2"
          FROM "memory"."sqlrl"."atom_InField"
        ) AS "f1"
        INNER JOIN (
          SELECT
            "a0",
            "a1",
            "a2"
          FROM "memory"."sqlrl"."atom_InField"
        ) AS "f2"
          ON "f2"."a0" = "f1"."a0"
        INNER JOIN "memory"."sqlrl"."fact_Next" AS "f3"
          ON "f3"."a0" = "f1"."a2" AND "f3"."a1" = "f2"."a2"
        INNER JOIN "memory"."sqlrl"."atom_InField" AS "o0"
          ON "o0"."a0" = "f1"."a0" AND "o0"."a1" = "f1"."a1" AND "o0"."a2" = "f1"."a2"
        INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
          ON "p"."k0" = "f1"."a1" AND "p"."k1" = "f2"."a1"
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
          "o4"."example" AS "example",
          "o4"."atom" AS "atom",
          CAST(SUM(1) AS INT128) AS "n"
        FROM (
          SELECT
            "a0",
            "a1",
            "a2"
          FROM "memory"."sqlrl"."atom_InField"
        ) AS "f5"
        INNER JOIN (
          SELECT
            "a0",
            "a1",
            "a2"
          FROM "memory"."sqlrl"."atom_InField"
        ) AS "f6"
          ON "f6"."a0" = "f5"."a0"
        INNER JOIN "memory"."sqlrl"."fact_Next" AS "f7"
          ON "f7"."a0" = "f5"."a2" AND "f7"."a1" = "f6"."a2"
        INNER JOIN "memory"."sqlrl"."atom_InField" AS "o4"
          ON "o4"."a0" = "f5"."a0" AND "o4"."a1" = "f6"."a1" AND "o4"."a2" = "f6"."a2"
        INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
          ON "p"."k0" = "f5"."a1" AND "p"."k1" = "f6"."a1"
        GROUP BY
          "p"."clause",
          "o4"."example",
          "o4"."atom"
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
        CAST(SUM(1) AS INT128) AS "n"
      FROM (
        SELECT
          "a0",
          "a1",
          "a2"
        FROM "memory"."sqlrl"."atom_InField"
      ) AS "f9"
      INNER JOIN (
        SELECT
          "a0",
          "a1",
          "a2"
        FROM "memory"."sqlrl"."atom_InField"
      ) AS "f10"
        ON "f10"."a0" = "f9"."a0"
      INNER JOIN "memory"."sqlrl"."fact_Next" AS "f11"
        ON "f11"."a0" = "f9"."a2" AND "f11"."a1" = "f10"."a2"
      INNER JOIN "memory"."sqlrl"."example" AS "o8"
        ON "o8"."example" = "f9"."a0"
      INNER JOIN "memory"."sqlrl"."scratch_parameter" AS "p"
        ON "p"."k0" = "f9"."a1" AND "p"."k1" = "f10"."a1"
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
