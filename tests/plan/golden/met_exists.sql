-- met: 1 Cancer(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))

SELECT
  "u"."l0",
  "u"."e0"
FROM (
  SELECT
    "b0"."l0",
    "b0"."e0"
  FROM (
    SELECT
      "o0"."atom" AS "l0",
      "w0o"."atoms" AS "e0"
    FROM (
      SELECT
        "a"."atom",
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      WHERE
        NOT EXISTS(
          SELECT
            1
          FROM "memory"."sqlrl"."scratch_world" AS "w"
          WHERE
            "w"."atom" = "a"."atom"
        )
    ) AS "o0"
    LEFT JOIN (
      SELECT
        "w0o_t0"."a0" AS "x0",
        LIST_SORT(ARRAY_AGG(DISTINCT "w0o_atom"."atom")) AS "atoms"
      FROM "memory"."sqlrl"."fact_Friends" AS "w0o_t0"
      INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "w0o_atom"
        ON "w0o_atom"."a0" = "w0o_t0"."a1"
      GROUP BY
        "w0o_t0"."a0"
    ) AS "w0o"
      ON "w0o"."x0" = "o0"."a0"
  ) AS "b0"
  UNION ALL
  SELECT
    "b1"."l0",
    "b1"."e0"
  FROM (
    SELECT
      "o0"."atom" AS "l0",
      "w0o"."atoms" AS "e0"
    FROM (
      SELECT
        "a"."atom",
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      JOIN "memory"."sqlrl"."scratch_world" AS "w"
        ON "w"."atom" = "a"."atom"
    ) AS "o0"
    INNER JOIN (
      SELECT DISTINCT
        "h1t0"."a0" AS "x0"
      FROM "memory"."sqlrl"."fact_Friends" AS "h1t0"
      INNER JOIN (
        SELECT
          "a"."a0"
        FROM "memory"."sqlrl"."atom_Cancer" AS "a"
        JOIN "memory"."sqlrl"."scratch_world" AS "w"
          ON "w"."atom" = "a"."atom"
      ) AS "h1t1"
        ON "h1t1"."a0" = "h1t0"."a1"
    ) AS "h1"
      ON "h1"."x0" = "o0"."a0"
    LEFT JOIN (
      SELECT
        "w0o_t0"."a0" AS "x0",
        LIST_SORT(ARRAY_AGG(DISTINCT "w0o_atom"."atom")) AS "atoms"
      FROM "memory"."sqlrl"."fact_Friends" AS "w0o_t0"
      INNER JOIN "memory"."sqlrl"."atom_Cancer" AS "w0o_atom"
        ON "w0o_atom"."a0" = "w0o_t0"."a1"
      GROUP BY
        "w0o_t0"."a0"
    ) AS "w0o"
      ON "w0o"."x0" = "o0"."a0"
  ) AS "b1"
) AS "u";
