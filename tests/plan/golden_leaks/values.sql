SELECT
  COUNT(DISTINCT "v"."constant") AS "constants",
  COUNT(CASE WHEN "v"."truth" THEN "v"."rest" END) AS "true_atoms",
  COUNT(DISTINCT "v"."rest") AS "rests",
  COUNT(DISTINCT CASE WHEN "v"."truth" THEN "v"."rest" END) AS "true_rests"
FROM (
  SELECT
    "a"."arguments"[2] AS "constant",
    ["a"."example", "a"."arguments"[1]] AS "rest",
    "a"."truth"
  FROM "sqlrl"."audit_atom" AS "a"
  WHERE
    "a"."run" = 7 AND NOT "a"."truth" IS NULL
) AS "v";
