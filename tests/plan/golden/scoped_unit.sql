-- scoped: 1 Cancer(x)

SELECT
  "g"."l0",
  "g"."multiplicity"
FROM (
  SELECT
    "o0"."atom" AS "l0",
    1 AS "multiplicity"
  FROM "memory"."sqlrl"."atom_Cancer" AS "o0"
  UNION ALL
  SELECT
    0 AS "l0",
    "q"."n" AS "multiplicity"
  FROM (
    SELECT
      CAST(SUM("terms"."n") AS INT128) AS "n"
    FROM (
      SELECT
        CAST(3 AS INT128) AS "n"
      UNION ALL
      SELECT
        CAST(SUM((
          -1
        )) AS INT128) AS "n"
      FROM (
        SELECT
          "a"."a0"
        FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      ) AS "f0"
    ) AS "terms"
  ) AS "q"
  WHERE
    "q"."n" > 0
) AS "g";
