-- ground: 1 InField(c, f, p) ^ InField(c, g, p) ^ Next(p, q) => InField(c, g, q)

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
  "o2"."atom" AS "l2",
  COUNT(*) AS "multiplicity"
FROM "memory"."sqlrl"."fact_Next" AS "t0"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o0"
  ON "o0"."a2" = "t0"."a0"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o1"
  ON "o1"."a0" = "o0"."a0" AND "o1"."a2" = "t0"."a0"
INNER JOIN "memory"."sqlrl"."atom_InField" AS "o2"
  ON "o2"."a0" = "o0"."a0" AND "o2"."a1" = "o0"."a1" AND "o2"."a2" = "t0"."a1"
WHERE
  "t0"."a0" <> "t0"."a1"
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
  END,
  "o2"."atom";
