-- met: 1 Smokes(x) => Cancer(x)

SELECT
  "u"."l0",
  "u"."l1",
  "u"."multiplicity"
FROM (
  SELECT
    "b0"."l0",
    "b0"."l1",
    "b0"."multiplicity"
  FROM (
    SELECT
      "o0"."atom" AS "l0",
      "o1"."atom" AS "l1",
      COUNT(*) AS "multiplicity"
    FROM (
      SELECT
        "a"."atom",
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Cancer" AS "a"
      JOIN "memory"."sqlrl"."scratch_world" AS "w"
        ON "w"."atom" = "a"."atom"
    ) AS "o0"
    INNER JOIN (
      SELECT
        "atom",
        "a0"
      FROM "memory"."sqlrl"."atom_Smokes"
      UNION ALL
      SELECT
        0 AS "atom",
        "a0"
      FROM "memory"."sqlrl"."fact_Smokes"
      WHERE
        "given" AND "truth"
    ) AS "o1"
      ON "o1"."a0" = "o0"."a0"
    GROUP BY
      "o0"."atom",
      "o1"."atom"
  ) AS "b0"
  UNION ALL
  SELECT
    "b1"."l0",
    "b1"."l1",
    "b1"."multiplicity"
  FROM (
    SELECT
      "o0"."atom" AS "l0",
      "o1"."atom" AS "l1",
      COUNT(*) AS "multiplicity"
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
    INNER JOIN (
      SELECT
        "a"."atom",
        "a"."a0"
      FROM "memory"."sqlrl"."atom_Smokes" AS "a"
      WHERE
        NOT EXISTS(
          SELECT
            1
          FROM "memory"."sqlrl"."scratch_world" AS "w"
          WHERE
            "w"."atom" = "a"."atom"
        )
    ) AS "o1"
      ON "o1"."a0" = "o0"."a0"
    GROUP BY
      "o0"."atom",
      "o1"."atom"
  ) AS "b1"
) AS "u";
