package lochan.spark;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.sources.*;

/** Spark's filters as columns, so that its Parquet reader can leave out row groups by them. */
final class FilterColumn {
  private FilterColumn() {}

  /** Null: there is no such column; rows are tested later all the same. */
  static Column of(Filter filter) {
    if (filter instanceof EqualTo f) return named(f.attribute()).equalTo(lit(f.value()));
    if (filter instanceof GreaterThan f) return named(f.attribute()).gt(lit(f.value()));
    if (filter instanceof GreaterThanOrEqual f) return named(f.attribute()).geq(lit(f.value()));
    if (filter instanceof LessThan f) return named(f.attribute()).lt(lit(f.value()));
    if (filter instanceof LessThanOrEqual f) return named(f.attribute()).leq(lit(f.value()));
    if (filter instanceof In f) return named(f.attribute()).isin(f.values());
    if (filter instanceof IsNotNull f) return named(f.attribute()).isNotNull();
    if (filter instanceof IsNull f) return named(f.attribute()).isNull();
    if (filter instanceof StringStartsWith f) return named(f.attribute()).startsWith(f.value());
    if (filter instanceof And f) return and(of(f.left()), of(f.right()));
    if (filter instanceof Or f) return or(of(f.left()), of(f.right()));
    return null;
  }

  static Column named(String name) {
    return col("`" + name.replace("`", "``") + "`");
  }

  private static Column and(Column left, Column right) {
    return left == null ? right : right == null ? left : left.and(right);
  }

  private static Column or(Column left, Column right) {
    return left == null || right == null ? null : left.or(right);
  }
}
