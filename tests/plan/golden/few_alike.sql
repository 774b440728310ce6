-- few: 1 Cancer(x) v Cancer(y)

SELECT
  CASE
    WHEN "o0"."atom" IS NULL OR "o1"."atom" IS NULL
    THEN NULL
    ELSE LEAST("o0"."atom", "o1"."atom")
  END AS "l0",
  CASE
    WHEN "o0"."atom" IS NULL OR "o1"."atom" IS NULL
    THEN NULL
    ELSE GREATEST("o0"."atom", "o1"."atom")
  END AS "l1",
  COUNT(*) AS "multiplicity"
FROM (
  SELECT
    "atom",
    "a0"
  FROM "memory"."sqlrl"."atom_Cancer"
) AS "o0"
CROSS JOIN (
  SELECT
    "atom",
    "a0"
  FROM "memory"."sqlrl"."atom_Cancer"
) AS "o1"
WHERE
  "o0"."atom" = "o1"."atom" AND "o0"."a0" = "o1"."a0"
GROUP BY
  CASE
    WHEN "o0"."atom" IS NULL OR "o1"."atom" IS NULL
    THEN NULL
    ELSE LEAST("o0"."atom", "o1"."atom")
  END,
  CASE
    WHEN "o0"."atom" IS NULL OR "o1"."atom" IS NULL
    THEN NULL
    ELSE GREATEST("o0"."atom", "o1"."atom")
  END;
