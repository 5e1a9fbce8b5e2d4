package lochan.spark;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;

import org.apache.spark.sql.Column;
import org.apache.spark.sql.sources.*;

/**
 * Spark's filters as columns, so that its Parquet reader can leave out row groups by them. A filter names its column as
 * SQL does: `a.b` is a member of `a`.
 */
final class FilterColumn {
  private FilterColumn() {}

  /** Null: there is no such column; rows are tested later all the same. */
  static Column of(Filter filter) {
    if (filter instanceof EqualTo f) return col(f.attribute()).equalTo(lit(f.value()));
    if (filter instanceof GreaterThan f) return col(f.attribute()).gt(lit(f.value()));
    if (filter instanceof GreaterThanOrEqual f) return col(f.attribute()).geq(lit(f.value()));
    if (filter instanceof LessThan f) return col(f.attribute()).lt(lit(f.value()));
    if (filter instanceof LessThanOrEqual f) return col(f.attribute()).leq(lit(f.value()));
    if (filter instanceof In f) return col(f.attribute()).isin(f.values());
    if (filter instanceof IsNotNull f) return col(f.attribute()).isNotNull();
    if (filter instanceof IsNull f) return col(f.attribute()).isNull();
    if (filter instanceof StringStartsWith f) return col(f.attribute()).startsWith(f.value());
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
