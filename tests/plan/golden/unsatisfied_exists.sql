-- unsatisfied: 1 Cancer(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))

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
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM (
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
    WHERE
      "h1"."x0" = "o0"."a0"
  );
